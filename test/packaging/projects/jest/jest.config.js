export default { testEnvironment: "./environment.js", transform: {} };
