/** A text of at most `most` characters, and `…` if there were more. Refusals repeat what a request holds, which may be long. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
