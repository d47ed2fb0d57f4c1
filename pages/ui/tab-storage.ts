// Session storage that may be refused: by the browser's settings, in a sandbox, or because it is full.

function attempt<Result>(use: (storage: Storage) => Result): Result | undefined {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}

/** Reads an entry of this tab. Empty if there is none, or storage is refused. */
export function readTab(name: string): string {
  return attempt((storage) => storage.getItem(name)) ?? "";
}

/** Writes an entry of this tab, or deletes it if `value` is empty. Returns false if storage is refused. */
export function writeTab(name: string, value: string): boolean {
  const written = attempt((storage) => {
    if (value === "") storage.removeItem(name);
    else storage.setItem(name, value);
    return true;
  });
  return written === true;
}
