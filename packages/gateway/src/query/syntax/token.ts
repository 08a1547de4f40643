/** One piece of a query text. */
export type Token =
  | { readonly kind: 'word'; readonly text: string; readonly offset: number }
  | { readonly kind: 'parameter'; readonly text: string; readonly offset: number }
  | {
      readonly kind: 'number'
      readonly value: number
      readonly text: string
      readonly offset: number
    }
  | {
      readonly kind: 'string'
      readonly value: string
      readonly text: string
      readonly offset: number
    }
  | { readonly kind: 'symbol'; readonly text: string; readonly offset: number }
  | { readonly kind: 'end'; readonly text: ''; readonly offset: number }
