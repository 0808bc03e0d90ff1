<?php
// Prints what the plugin thinks of the key file: "ok" and its bits, or a code.
require __DIR__ . '/load.php';
$interlock_test_key = interlock_bridge_load_key();
echo is_wp_error( $interlock_test_key ) ? $interlock_test_key->get_error_code() : 'ok ' . $interlock_test_key['bits'];
