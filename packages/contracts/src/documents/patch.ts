/** One step of a patch (ST-3). Paths are `/a/b/0`; `-` appends to an array. */
export type PatchOperation =
  | { readonly op: 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'set'; readonly path: string; readonly value: unknown }
  | { readonly op: 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'incr'; readonly path: string; readonly value: number }
  | { readonly op: 'move'; readonly from: string; readonly path: string }
