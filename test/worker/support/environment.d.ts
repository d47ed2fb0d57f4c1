import type { Environment } from "../../../worker/environment.ts";

declare global {
  namespace Cloudflare {
    interface Env extends Environment {
      /** The bucket of those tests that bind it as ARCHIVE. */
      readonly BUCKET: R2Bucket;
    }
    interface GlobalProps {
      mainModule: typeof import("../../../worker/index.ts");
    }
  }
}
