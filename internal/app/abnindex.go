package app

import (
	"context"

	"interlock/internal/store/abnindex"
)

// What the commands about the index of the register's extract need: they work
// on the file itself, beside a server or without one.
type (
	ABNImport    = abnindex.ImportConfig
	ABNProgress  = abnindex.Progress
	ABNImported  = abnindex.Imported
	ABNIndexInfo = abnindex.Info
	ABNIndexFile = abnindex.Index
)

// WholeABNExtract is how many XML files the register's extract has.
const WholeABNExtract = abnindex.WholeExtract

// ImportABN makes the index out of an extract, or goes on with an import that
// was stopped.
func ImportABN(ctx context.Context, c ABNImport) (ABNImported, error) { return abnindex.Import(ctx, c) }

// OpenABNIndex opens the index to ask it. The caller closes it.
func OpenABNIndex(path string) (*ABNIndexFile, error) { return abnindex.Open(path) }
