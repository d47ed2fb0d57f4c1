export interface Product {
  readonly id: string;
  readonly title: string;
  readonly price: number;
  readonly brand: string;
}

/** The shop's own order: new products first. */
export const products: readonly Product[] = [
  { id: "boots", title: "Winter boots", price: 129, brand: "Acme" },
  { id: "hat", title: "Felt hat", price: 19.99, brand: "Umbra" },
  { id: "scarf", title: "Long scarf", price: 34.5, brand: "Lana" },
  { id: "gloves", title: "Warm gloves", price: 24, brand: "Acme" },
  { id: "coat", title: "Rain coat", price: 89, brand: "Umbra" },
];
