// Loaded with `node --require`: sends the map server's requests for Amap to AMAP_TEST_BASE_URL.
const http = require("node:http");
const https = require("node:https");
const direct = https.request;
https.request = function (target, options, ...rest) {
  const url = typeof target === "string" || target instanceof URL ? new URL(target) : null;
  if (url === null || url.hostname !== "restapi.amap.com") return direct(target, options, ...rest);
  const base = new URL(process.env.AMAP_TEST_BASE_URL);
  const path = base.pathname.replace(/\/$/, "") + url.pathname + url.search;
  // Options name a path of their own, which goes before the address's.
  const given = options && typeof options === "object" ? { ...options, path } : options;
  return http.request(new URL(path, base), given, ...rest);
};
