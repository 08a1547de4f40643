export function dateOf(epochMs: number): Date {
  return new Date(epochMs)
}
