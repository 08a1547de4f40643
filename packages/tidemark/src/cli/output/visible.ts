/**
 * Writes control characters, and characters that change the direction of text, as `\u001b`: names from data cannot move
 * the cursor of a terminal. JSON keeps its meaning. Line ends stay.
 */
export function visible(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n]|[\u2028-\u202e\u2066-\u2069]/gu, (character) => {
    return `\\u${character.codePointAt(0)?.toString(16).padStart(4, '0')}`
  })
}
