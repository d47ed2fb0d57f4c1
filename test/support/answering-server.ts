import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

/** A server of this machine whose answer a test chooses. It notes the requests. */
export class AnsweringServer {
  /** Method and path of each request. */
  asked: string[] = [];
  answer: RequestListener = (_, response) => response.end();
  readonly #server = createServer((request, response) => {
    this.asked.push(`${request.method} ${request.url}`);
    this.answer(request, response);
  });

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
  }

  close(): void {
    this.#server.close();
  }
}
