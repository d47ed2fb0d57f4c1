import { playAll } from "./scenario.ts";

export default {
  async fetch(): Promise<Response> {
    return Response.json(await playAll());
  },
};
