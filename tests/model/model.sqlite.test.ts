import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'sqlite',
  sequences: 50,
  messageSequences: 40,
  place: () => Promise.resolve({ engine: 'sqlite' }),
})
