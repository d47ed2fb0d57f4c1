// `exclude` leaves the core beside the SDK, where the SDK looks for it. `target` allows await at the top of a module.
export default { base: "./", optimizeDeps: { exclude: ["afterclick"] }, build: { target: "es2022" } };
