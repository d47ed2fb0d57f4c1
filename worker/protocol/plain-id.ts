/** A global id of a vendor, such as gid://shopify/Product/123. A cart's has a query after its id. */
const GLOBAL_ID = /^gid:\/\/[^/]+\/[^/]+\/([^/?]+)(?:\?.*)?$/;

/** Characters that nobody sees: blanks of any script, controls, and letters without a form. */
export const UNSEEN = String.raw`\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}\u2800`;
const AROUND = new RegExp(`^[${UNSEEN}]+|[${UNSEEN}]+$`, "gu");

/**
 * The form in which ids match: Unicode's composed form (NFC) without blanks around it, and of a vendor's global id the plain one.
 * Ids are stored and answered as they were given.
 */
export function plainId(id: string): string {
  const text = id.normalize("NFC").replaceAll(AROUND, "");
  return GLOBAL_ID.exec(text)?.[1] ?? text;
}
