import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'sqlite',
  sequences: 400,
  place: () => Promise.resolve({ engine: 'sqlite' }),
})
