<?php
// Asks what the argument says and prints as JSON what came.
require __DIR__ . '/load.php';
$interlock_test_got = interlock_bridge_ask( $argv[1], wp_generate_uuid4() );
echo wp_json_encode( is_wp_error( $interlock_test_got ) ? array( 'status' => $interlock_test_got->get_error_code() ) : $interlock_test_got );
