const Metro = require("metro");

Metro.loadConfig({ config: "metro.config.cjs" }).then((config) =>
  Metro.runBuild(config, { entry: "index.js", platform: "ios", dev: false, out: "app.js" }),
);
