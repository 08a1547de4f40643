/**
 * Cuts a text so that each part, written as a JSON string, has at most `partBytes` bytes. JSON text has no
 * character that takes more than 3 bytes a unit when it is written as a string once more.
 */
export function textParts(text: string, partBytes: number): readonly string[] {
  const units = Math.max(2, Math.floor(partBytes / 3))
  const parts: string[] = []
  for (let from = 0; from < text.length;) {
    const end = from + units
    const isPairCut = end < text.length && isHighSurrogate(text.charCodeAt(end - 1))
    const to = isPairCut ? end - 1 : end
    parts.push(text.slice(from, to))
    from = to
  }
  return parts
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}
