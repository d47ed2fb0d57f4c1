import { TokenSigner } from "../domain/ids/token.ts";
import { type Environment, secret } from "../environment.ts";

/** Signs and verifies the impression ids of this worker. */
export const tokenSigner = (env: Environment): TokenSigner => TokenSigner.create(secret(env, "AFTERCLICK_TOKEN_KEY"));
