// Package e2e proves the whole: a server, hosts and operators over real HTTP,
// with the faults that they meet in the field. It holds tests only.
package e2e
