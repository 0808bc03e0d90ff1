package storetest

import "testing"

func compareWithModel(t *testing.T, open func(testing.TB) Harness) { open(t) }
