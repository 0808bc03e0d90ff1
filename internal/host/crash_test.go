package host_test

const hostProcess = "INTERLOCK_TEST_HOST_PROCESS"

func runHostProcess() {}
