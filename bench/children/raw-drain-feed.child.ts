import { serveParent } from '../measuring/child-process.ts'
import { PrototypeTail } from '../raw/prototype-tail.ts'

export interface RawDrainRequest {
  readonly file: string
}

serveParent(async ({ file }: RawDrainRequest) => {
  using tail = new PrototypeTail(file)
  tail.readNew()
  return { rssMiB: process.memoryUsage.rss() / 2 ** 20 }
})
