<?php
// Exercises the ability, where WordPress has abilities, and prints as JSON what
// came: for an administrator, for an editor, and over REST.
require __DIR__ . '/load.php';

$interlock_test_found = array( 'abilities' => function_exists( 'wp_get_ability' ) );
if ( $interlock_test_found['abilities'] ) {
	$interlock_test_ability = wp_get_ability( 'interlock/resolve' );
	$interlock_test_run     = static function ( array $input ) use ( $interlock_test_ability ) {
		$got = $interlock_test_ability->execute( $input );
		return is_wp_error( $got ) ? array( 'error' => $got->get_error_code() ) : $got;
	};
	$interlock_test_rest    = static function ( string $method, string $path, array $body = array() ): array {
		$request = new WP_REST_Request( $method, '/wp-abilities/v1' . $path );
		$request->set_body_params( $body );
		$request->set_query_params( 'GET' === $method ? $body : array() );
		$response = rest_do_request( $request );
		return array(
			'status' => $response->get_status(),
			'told'   => false !== strpos( wp_json_encode( $response->get_data() ), 'interlock' ),
		);
	};

	wp_set_current_user( get_user_by( 'login', 'admin' )->ID );
	$interlock_test_input              = array( 'instruction' => 'Check whether ABN 51824753556 is registered.' );
	$interlock_test_found['admin']     = $interlock_test_run( $interlock_test_input );
	$interlock_test_found['no_match']  = $interlock_test_run( array( 'instruction' => 'Is Woolworths registered?' ) );
	$interlock_test_found['no_input']  = $interlock_test_run( array() );
	$interlock_test_found['more']      = $interlock_test_run( $interlock_test_input + array( 'url' => 'https://x' ) );
	$interlock_test_found['meta']      = $interlock_test_ability->get_meta();
	$interlock_test_found['rest_list'] = $interlock_test_rest( 'GET', '/abilities', array( 'per_page' => 100 ) );
	$interlock_test_found['rest_one']  = $interlock_test_rest( 'GET', '/abilities/interlock/resolve' );
	$interlock_test_found['rest_get']  = $interlock_test_rest( 'GET', '/abilities/interlock/resolve/run', array( 'input' => $interlock_test_input ) );
	$interlock_test_found['rest_post'] = $interlock_test_rest( 'POST', '/abilities/interlock/resolve/run', array( 'input' => $interlock_test_input ) );

	wp_set_current_user( get_user_by( 'login', 'editor' )->ID );
	$interlock_test_found['editor'] = $interlock_test_run( $interlock_test_input );
	wp_set_current_user( 0 );
	$interlock_test_found['nobody'] = $interlock_test_run( $interlock_test_input );
}
echo wp_json_encode( $interlock_test_found );
