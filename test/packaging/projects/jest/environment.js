import { TestEnvironment } from "jest-environment-jsdom";

// What browsers have and jsdom lacks, and the SDK that holds its core.
export default class extends TestEnvironment {
  constructor(...given) {
    super(...given);
    Object.assign(this.global, { structuredClone, TextDecoder, TextEncoder });
  }

  exportConditions() {
    return ["node"];
  }
}
