-- Choose what of OpenStreetMap the page's map draws: layers and kinds as in Protomaps' base maps.

node_keys = { "place" }

local ROADS = {
  motorway = "highway", trunk = "highway", motorway_link = "highway", trunk_link = "highway",
  primary = "major_road", secondary = "major_road", tertiary = "major_road",
  primary_link = "major_road", secondary_link = "major_road", tertiary_link = "major_road",
  residential = "minor_road", unclassified = "minor_road", living_street = "minor_road",
  road = "minor_road", service = "minor_road", pedestrian = "path", footway = "path",
  path = "path", cycleway = "path", steps = "path", track = "path",
}
local ROAD_ZOOM = { highway = 6, major_road = 9, minor_road = 12, path = 13 }
local GREEN = {
  park = "park", garden = "garden", nature_reserve = "nature_reserve", golf_course = "golf_course",
  playground = "playground", forest = "forest", wood = "wood", grass = "grass",
  cemetery = "cemetery", village_green = "village_green", scrub = "scrub", grassland = "grassland",
}
local PLACE_ZOOM = {
  city = 4, town = 8, borough = 9, suburb = 11, quarter = 12, neighbourhood = 13, village = 12,
}

-- tilemaker 2 hands over an object with methods, tilemaker 3 has functions.
local function caller(object)
  return function(name, ...)
    if object then return object[name](object, ...) end
    return _G[name](...)
  end
end

local function write(call, layer, area, kind, zoom)
  call("Layer", layer, area)
  call("Attribute", "kind", kind)
  call("MinZoom", zoom)
  local name = call("Find", "name")
  if name ~= "" then call("Attribute", "name", name) end
end

function node_function(node)
  local call = caller(node)
  local kind = call("Find", "place")
  if PLACE_ZOOM[kind] and call("Find", "name") ~= "" then
    write(call, "places", false, kind, PLACE_ZOOM[kind])
  end
end

function way_function(way)
  local call = caller(way)
  local road = ROADS[call("Find", "highway")]
  if road then write(call, "roads", false, road, ROAD_ZOOM[road]) end
  if call("Find", "railway") == "rail" then write(call, "roads", false, "rail", 10) end
  local waterway = call("Find", "waterway")
  if waterway == "river" or waterway == "canal" then write(call, "water", false, waterway, 8) end
  if not call("IsClosed") then return end
  if call("Find", "natural") == "water" or waterway == "riverbank" then
    write(call, "water", true, "water", 8)
  end
  local green = GREEN[call("Find", "leisure")] or GREEN[call("Find", "landuse")]
    or GREEN[call("Find", "natural")]
  if green then write(call, "landuse", true, green, 10) end
  if call("Find", "building") ~= "" then write(call, "buildings", true, "building", 14) end
end
