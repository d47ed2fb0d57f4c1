// The file prints and exits; it exports nothing.
export {};
