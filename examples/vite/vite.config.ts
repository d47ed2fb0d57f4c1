// `target` allows await at the top of a module.
export default { base: "./", build: { target: "es2022" } };
