// Loaded behind the sample's redirect: the address of the stand-in stands in a file, as it is
// another for each test, and the server stays.
const fs = require("node:fs");
const https = require("node:https");
const redirected = https.request;
https.request = function (...asked) {
  process.env.AMAP_TEST_BASE_URL = fs.readFileSync(process.env.AMAP_TEST_BASE_FILE, "utf8");
  return redirected(...asked);
};
