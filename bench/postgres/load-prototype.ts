import { PrototypeData } from '../raw/prototype-data.ts'
import { PrototypeGroups } from './raw/prototype-groups.ts'
import { createPrototype } from './raw/prototype-schema.ts'

const AT_ONCE = 2_000

/** The prototype in an empty database, with documents 0 to `count`. */
export async function loadPrototype(
  url: string,
  { count, segments }: { readonly count: number; readonly segments: number },
): Promise<void> {
  await createPrototype(url, segments)
  await using groups = new PrototypeGroups(url)
  const data = new PrototypeData()
  for (let from = 0; from < count; from += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - from)
    await Promise.all(
      Array.from({ length }, (_, index) => {
        const write = data.write(from + index, 0)
        return groups.write({ ...write, segment: write.segment % segments })
      }),
    )
  }
}
