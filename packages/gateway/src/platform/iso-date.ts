/** As JSON writes a date. Undefined when it is none. */
export function parseIsoDate(text: string): Date | undefined {
  const date = new Date(text)
  return Number.isFinite(date.getTime()) && date.toISOString() === text ? date : undefined
}
