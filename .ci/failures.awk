# Reads the output of "go test -v" twice and prints the story of what failed:
# of each failed test the lines that belong to it, of each failed package what
# belongs to no test (a build that broke, a panic, a data race).

BEGIN { packages = number = 0 }
FNR == 1 { pass++; test = ""; loud = 0 }

pass == 1 {
	if ($0 ~ /^[[:space:]]*--- FAIL: /) {
		sub(/^[[:space:]]*--- FAIL: /, ""); sub(/ .*/, "")
		failed[packages, $0] = 1
	} else if ($0 ~ /^FAIL\t/) {
		broken[packages++] = 1
	} else if ($0 ~ /^(ok  |\?   )\t/) {
		packages++
	}
	next
}

# The second reading counts packages the same way.
/^(ok  |\?   |FAIL)\t/ {
	if ($0 ~ /^FAIL\t/) print
	number++; test = ""; loud = 0
	next
}
/^(# |vet: |[^ ]+\.go:[0-9]+:[0-9]+: )/ { print; next }
!(number in broken) { next }
/^=== (RUN|NAME|CONT|PAUSE) / { test = $3; next }
/^panic: |^fatal error: |^==================$/ { loud = /^=+$/ ? !loud : 1 }
/^(PASS|FAIL|exit status .*)$/ || /^[[:space:]]*--- (PASS|SKIP): / { next }
/^[[:space:]]*--- FAIL: / || loud || test == "" || (number, test) in failed { print }
