package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wrongFlag says in our words what the library says in Go's.
func wrongFlag(c *cobra.Command, err error) error {
	see := "see: " + c.CommandPath() + " --help"
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		f := value.GetFlag()
		return usageError("--%s takes %s, not %q; %s", f.Name, kindOf(f), shorten(value.GetValue(), 40), see)
	case errors.As(err, &missing):
		return usageError("--%s needs a value; %s", missing.GetSpecifiedName(), see)
	case errors.As(err, &unknown):
		dashes := "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		return usageError("%s has no flag %s%s; %s", c.CommandPath(), dashes, unknown.GetSpecifiedName(), see)
	}
	return usageError("%s; %s", err, see)
}

// kindOf names what a flag takes.
func kindOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "duration":
		return "a time such as 90s, 10m or 2h"
	case "bool":
		return "true or false"
	case "stringToString":
		return "NAME=VALUE"
	}
	return "another value"
}
