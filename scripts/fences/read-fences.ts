/** A block of code of a page. */
export interface Fence {
  /** Where its code begins, from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
}

export function readFences(markdown: string): readonly Fence[] {
  return [...markdown.matchAll(/^```(\S*)[^\n]*\n(.*?)^```$/gms)].map((match) => ({
    line: markdown.slice(0, match.index).split('\n').length + 1,
    language: match[1] ?? '',
    text: match[2] ?? '',
  }))
}
