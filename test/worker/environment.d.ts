import type { Environment } from "../../worker/environment.ts";

declare global {
  namespace Cloudflare {
    interface Env extends Environment {}
    interface GlobalProps {
      mainModule: typeof import("../../worker/index.ts");
    }
  }
}
