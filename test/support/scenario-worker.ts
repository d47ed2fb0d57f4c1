import { playAll } from "../policies/listed.ts";

export default {
  async fetch(): Promise<Response> {
    return Response.json(await playAll());
  },
};
