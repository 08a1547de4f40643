import { MemoryStorageEngine } from '@tidemark/store'
import { storageEngineConformance } from './suite.ts'

storageEngineConformance({
  name: 'memory',
  async open({ clock }) {
    const engine = new MemoryStorageEngine({ clock })
    return { engine, dispose: () => engine.close() }
  },
})
