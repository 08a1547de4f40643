import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'memory',
  sequences: 200,
  messageSequences: 400,
  place: () => Promise.resolve({ engine: 'memory' }),
})
