// Package providertest is what every provider and every transport passes: a
// conformance suite over HTTP, and a fake of each vendor to run it against.
//
// The fakes hold state and check what they are sent like the vendors do: an
// unknown member, a wrong key or a tool that they would refuse gets the
// vendor's own answer. Their replies are the vendors' wire form, written out.
// The tests of the vendors' libraries read the same replies, so that a mistake
// in them shows.
//
// A Subject makes the llm.ToolCaller under test for an endpoint. The direct
// clients are subjects, and so is the whole way through the control plane: for
// one reply each must give the same call, usage, provider, model, request id,
// reason and Retry-After.
//
// Structured makes such a subject of a client's structured answers, which fail,
// retry and end by the same rules.
//
// Run uses real sockets. RunOnFakeClock runs what takes time inside a
// testing/synctest bubble, with real HTTP over a network in memory. FuzzReply
// gives a client's reading of an answer whatever a vendor could send.
//
// Numbers in brackets in the names of cases point to reports of users whose
// client or gateway got it wrong, by project and number. Known reports that
// have no case, because we don't do what went wrong: empty arguments in a
// history that is sent back and lost usage of a stream (we send one turn, and
// don't stream), tool_choice none, and a forced call that follows from
// forbidding parallel ones (every request says both). Names that a vendor
// refuses or that collide once cleaned up can't be offered at all: see
// tool.NewSet.
package providertest
