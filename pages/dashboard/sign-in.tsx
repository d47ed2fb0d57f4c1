import { useState } from "hono/jsx/dom";
import { Refusal, reasonOf } from "../ui/call.ts";
import { keyedSource } from "./source.ts";

/** The browser refuses to send characters outside printable ASCII in a header, so such a key is wrong too. */
function isWrong(key: string, error: unknown): boolean {
  return /[^\x20-\x7e]/.test(key) || (error instanceof Refusal && error.status === 401);
}

/** Asks for the secret key, and calls `enter` with one that the worker accepts. */
export function SignIn({ enter, problem }: { enter: (key: string) => void; problem: string }) {
  const [key, setKey] = useState("");
  const [refusal, refuse] = useState(problem);
  const [asking, setAsking] = useState(false);

  const submit = async (event: Event) => {
    event.preventDefault();
    setAsking(true);
    try {
      await keyedSource(key.trim()).models();
      enter(key.trim());
    } catch (error) {
      refuse(isWrong(key, error) ? WRONG_KEY : `The key could not be checked: ${reasonOf(error)}.`);
      setAsking(false);
    }
  };
  return (
    <section class="sign-in">
      <h2>Dashboard</h2>
      <form onSubmit={(event: Event) => void submit(event)}>
        <label for="key">Secret key</label>
        <div class="field">
          <input
            id="key"
            type="password"
            required
            autocomplete="off"
            aria-describedby="key-hint key-problem"
            value={key}
            onInput={(event: Event) => setKey((event.currentTarget as HTMLInputElement).value)}
          />
          <button type="submit" class="primary" disabled={asking}>
            Open
          </button>
        </div>
      </form>
      <p id="key-problem" class="problem" role="alert">
        {refusal}
      </p>
      <p id="key-hint" class="quiet">
        The value of <code>AFTERCLICK_SECRET_KEY</code>. This tab keeps it until you close it, and sends it to this worker only.
      </p>
    </section>
  );
}

export const WRONG_KEY = "The worker refused this key. Enter the secret key; the publishable key is not enough.";
