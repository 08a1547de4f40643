import { MemoryStorageEngine } from '@tidemark/store'
import { storageEngineConformance } from './storage-engine.ts'

storageEngineConformance({
  name: 'memory',
  modelRuns: 500,
  async open() {
    const engine = new MemoryStorageEngine()
    return { engine, dispose: () => engine.close() }
  },
})
