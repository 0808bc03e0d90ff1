package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"

	"interlock/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema forward. A database one step newer is served as it
// is: a version that is being rolled out, or was rolled back, keeps working.
func migrate(ctx context.Context, db *sql.DB) error {
	p, err := steps(db)
	if err != nil {
		return err
	}
	has, err := p.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	sources := p.ListSources()
	latest := sources[len(sources)-1].Version
	switch {
	case has > latest+1:
		return store.ErrNewer
	case has >= latest:
		return nil
	}
	_, err = p.Up(ctx)
	return err
}

// steps are what brings the schema of db forward. A step that was released
// never changes.
func steps(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)))
}
