export default { base: "./", optimizeDeps: { exclude: ["afterclick"] }, server: { fs: { allow: [".."] } }, logLevel: "error" };
