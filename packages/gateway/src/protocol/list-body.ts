/** Pieces of the body of a list, `{"_rid","_count","<name>":[…]}`, around items that are JSON text already. */
export function listBody(
  { rid, name }: { readonly rid: string; readonly name: string },
  items: readonly string[],
): readonly string[] {
  const pieces: string[] = [`{"_rid":${JSON.stringify(rid)},"_count":${items.length},"${name}":[`]
  for (const [index, item] of items.entries()) {
    if (index > 0) pieces.push(',')
    pieces.push(item)
  }
  pieces.push(']}')
  return pieces
}
