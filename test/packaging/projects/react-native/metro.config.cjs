const { getDefaultConfig, mergeConfig } = require("@react-native/metro-config");

// As an app has it, but react-native itself is not installed.
module.exports = mergeConfig(getDefaultConfig(__dirname), { serializer: { getModulesRunBeforeMainModule: () => [] } });
