package main

import (
	"database/sql"
	"fmt"
	"os"
	"os/signal"

	_ "modernc.org/sqlite" // the engine, as another program would open the file
)

// hold is another program that has locked the database in its first argument;
// it makes the file of its second once it has, and ends at an interrupt.
func hold() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	if err := lock(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := os.WriteFile(os.Args[2], []byte("locked\n"), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	<-stop
}

// lock takes the write lock and keeps it until the process ends.
func lock(name string) error {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	_, err = db.Exec("BEGIN EXCLUSIVE")
	return err
}
