export { GET } from "../node/route.js";

export const dynamic = "force-dynamic";
export const runtime = "edge";
